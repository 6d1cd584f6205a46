"""What commands share that measure servers with requests of their own."""
