"""Which options exist and what each accepts: errors, kinds of value, and the one table. Reading them is `config`'s."""
