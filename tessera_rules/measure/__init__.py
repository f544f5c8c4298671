"""Is it fast? Races between candidates, decided by evidence that may be looked at after every round."""
