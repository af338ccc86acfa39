"""Robot files read and compared with other libraries."""
