"""What a machine is given so that it joins this cluster: a template, its values, a token."""
