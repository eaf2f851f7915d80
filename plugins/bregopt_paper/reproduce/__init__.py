"""``bregopt reproduce``: the experiments of the paper run anew, kept task by task, and told in one report."""
