"""Makes labelled triples: collects completions from several models and labels them by rule and by a judge."""
