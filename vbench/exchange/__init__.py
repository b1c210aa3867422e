"""Results that leave for other toolkits, or come from them."""
