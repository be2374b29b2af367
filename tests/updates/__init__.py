"""Every kind of edit, brought through an update: from each release, for several answers."""
