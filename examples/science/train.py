"""Trains a classifier on the digits that scikit-learn brings along, and checks what it learned."""

import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split


def main() -> None:
    images, digits = load_digits(return_X_y=True)
    seen, unseen, known, expected = train_test_split(images, digits, test_size=0.25, random_state=0)
    model = RandomForestClassifier(n_estimators=100, random_state=0).fit(seen, known)
    right = pd.Series(model.predict(unseen) == expected).groupby(expected).mean()
    assert right.mean() > 0.95, right
    print(f"{len(seen)} digits seen, {right.mean():.0%} of {len(unseen)} others right")


if __name__ == "__main__":
    main()
