"""Classifiers that may withhold a prediction: the double ramp loss and the convex losses it is compared with."""
