"""What joins wings: several classes, quantiles by classifiers, probabilities by quantiles of classes."""
