"""Labelled triples from problems: completions collected from several models, labelled by rule and by a judge."""
