"""The English-Italian corpus that the package ships."""
