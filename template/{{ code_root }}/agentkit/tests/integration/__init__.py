"""Tests of the modules together, and of what a killed process leaves behind."""
