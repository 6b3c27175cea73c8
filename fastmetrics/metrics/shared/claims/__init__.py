"""Claims of answers: their extraction, and their support by contexts and cited documents."""
