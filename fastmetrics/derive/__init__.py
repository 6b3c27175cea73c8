"""Columns made from columns by something slow, fallible or paid for, such as the opinions of a model that judges."""
