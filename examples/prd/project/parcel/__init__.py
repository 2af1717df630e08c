"""Prices of parcels. Lengths are centimetres, weights grams, money cents; all are whole numbers."""
