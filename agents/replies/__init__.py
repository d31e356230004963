"""Reading what a model wrote: forgiving about form, strict about effect."""
