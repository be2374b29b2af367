"""What needs a real service, such as PostgreSQL; or processes that are killed."""
