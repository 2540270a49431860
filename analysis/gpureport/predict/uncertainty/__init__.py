"""How uncertain predictions are: from the uncertainties of a device's figures to intervals of times and features."""
