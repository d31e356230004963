"""Running untrusted code: the contract, its backends, limits, images and package supply."""
