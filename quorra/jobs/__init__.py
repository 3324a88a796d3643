"""What runs beside people: watching hands, and later the night."""
