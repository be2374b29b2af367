"""Benchmarks of the generated runtime and of generation, side by side with peers. See README.md."""
