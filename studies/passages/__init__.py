"""`passages`: short passages with one question, answered in words. Each answer has many writings."""
