"""AccumAdam and AccumAdamW of "From Promise to Practice" (ICLR 2025), appendix C, in the form of
the authors' library."""

from math import ceil

from reference import torch


class AccumAdam(torch.optim.Optimizer):
    """Implements the following step, with s = window, t = 1, 2, ... and k = ceil(t / s):

        A += g / s;  m = b1 M + (1 - b1) g;  v = b2 V + (1 - b2) g^2
        x -= lr m / (1 - b1^k) / (sqrt(v / (1 - b2^k)) + eps)
        if s divides t:  M = b1 M + (1 - b1) A;  V = b2 V + (1 - b2) A^2;  A = 0
    """

    decoupled = False

    def __init__(self, params, lr, betas, eps, weight_decay, window):
        super().__init__(params,
                         {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self.window, self.t = window, 0

    @torch.no_grad()
    def step(self):
        self.t += 1
        s, k = self.window, ceil(self.t / self.window)
        for group in self.param_groups:
            lr, (b1, b2), decay = group["lr"], group["betas"], group["weight_decay"]
            for x in group["params"]:
                state = self.state[x]
                M, V, A = (state.get(name, torch.zeros_like(x)) for name in "MVA")
                g = x.grad if self.decoupled else x.grad + decay * x
                if self.decoupled:
                    x.mul_(1 - lr * decay)
                A = A + g / s
                m, v = b1 * M + (1 - b1) * g, b2 * V + (1 - b2) * g**2
                x.sub_(lr * m / (1 - b1**k) / ((v / (1 - b2**k)).sqrt() + group["eps"]))
                if self.t % s == 0:
                    M, V, A = b1 * M + (1 - b1) * A, b2 * V + (1 - b2) * A**2, torch.zeros_like(A)
                state.update(M=M, V=V, A=A)


class AccumAdamW(AccumAdam):
    """AccumAdam with decoupled weight decay: x *= 1 - lr decay before the step."""

    decoupled = True
