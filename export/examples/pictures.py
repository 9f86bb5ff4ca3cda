"""Writes pictures.npz: stripes in four directions, as an example of a user's own images."""

import numpy as np

ANGLES = np.pi / 4 * np.arange(4)


def draw(count, random):
    """Return images (count, 32, 32, 3) of bytes, and the number of each one's direction."""
    labels = np.arange(count) % 4
    y, x = np.mgrid[:32, :32] / 32
    angle = ANGLES[labels][:, None, None]
    phase = random.uniform(0, 2 * np.pi, (count, 1, 1))
    waves = np.sin(2 * np.pi * 4 * (x * np.cos(angle) + y * np.sin(angle)) + phase)
    noise = random.normal(0, 30, (count, 32, 32, 3))
    return (128 + 60 * waves[..., None] + noise).clip(0, 255).astype(np.uint8), labels


if __name__ == "__main__":
    random = np.random.default_rng(1)
    x_train, y_train = draw(2048, random)
    x_test, y_test = draw(512, random)
    np.savez("pictures.npz", x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
