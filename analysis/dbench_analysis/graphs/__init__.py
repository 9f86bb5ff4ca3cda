"""Communication graphs and their mixing matrices, as the program `dbench graph` prints them."""
