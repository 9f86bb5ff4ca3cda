#pragma once
// Gradient flow of a model that is linear around common weights, in function space: what a replica
// does in a round of NTK-DFL with the Jacobians of its neighbours (Thompson et al. 2024, arXiv
// 2410.01922; code: Gabe-Thomp/ntk-dfl). N samples, C outputs, P parameters:
//
//     H = (1 / C) sum_c J_c J_c';   f' = -(1 / N) H r(f),   r = softmax f - Y, or f - Y
//
// One kernel serves all outputs. Everything is added in float64, in an order of its own.

#include <cstdint>
#include <vector>

#include "algorithms/linearisation.hpp"

namespace dbench::algorithms {

class KernelFlow {
public:
    /// Of all parts together, in their order; of one type, C and P. Their memory must stay.
    KernelFlow(std::vector<Linearised> parts, bool classes);

    int64_t samples() const { return samples_; }                   ///< N
    const std::vector<double>& kernel() const { return kernel_; }  ///< H [N, N]
    const std::vector<double>& start() const { return start_; }    ///< f of the parts [N, C]

    /// r(f) [N, C].
    std::vector<double> residual(const std::vector<double>& f) const;
    /// f after so much time: one classical Runge-Kutta step.
    std::vector<double> after(const std::vector<double>& f, double time) const;
    /// (1 / N) sum_c J_c' r_c [P]; at the residual of `start` the mean loss's gradient.
    std::vector<double> gradient(const std::vector<double>& r) const;

private:
    std::vector<double> velocity(const std::vector<double>& f) const;  ///< f'

    std::vector<Linearised> parts_;
    bool classes_;
    int64_t outputs_, parameters_, samples_ = 0;
    std::vector<double> start_, targets_, kernel_;
};

}  // namespace dbench::algorithms
