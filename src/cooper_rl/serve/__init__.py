"""A reward model that learns, as a server: any trainer asks it for rewards over HTTP (`cooper serve`)."""
