"""The engine: methods as iterators of immutable states, and what stands around them."""
