"""Classifiers that are no boosting: the median classifier and binary quantile regression."""
