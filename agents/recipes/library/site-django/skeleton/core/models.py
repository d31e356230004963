"""The records that the site keeps."""
