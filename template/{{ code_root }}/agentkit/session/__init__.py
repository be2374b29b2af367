"""Conversations: how they are kept, made sendable, and kept short."""
