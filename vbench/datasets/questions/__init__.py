"""The question kit: lettered questions made from annotations by templates, without shortcuts."""
