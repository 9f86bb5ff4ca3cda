"""Result files as objects: how they are opened, and the runs, tables and columns in them."""
