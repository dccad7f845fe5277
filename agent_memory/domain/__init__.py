"""The rules: values in, values out. No I/O, no trio, no SQL, no clock."""
