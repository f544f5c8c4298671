"""A candidate bound to what it names: arrays described, arguments checked before entry, kernels called here or in a child."""
