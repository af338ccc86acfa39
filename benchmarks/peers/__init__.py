"""Libraries that linkwork is compared with, called in their fastest form."""
