"""What no test can show: conditions that never hold, candidates that never win, requests that nobody serves.

Everything that is reported is proved over the whole universe of requests, or shown by a request that the arbiter decides.
"""
