"""The ground floor that every model family stands on."""
