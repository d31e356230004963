"""Between views and HTTP: typed requests, pages and refusals, downloads, the proxy of deployed applications."""
