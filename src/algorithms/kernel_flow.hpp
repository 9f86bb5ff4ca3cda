#pragma once
// Gradient flow in function space of a model that is linearised at common weights. This is what a
// replica computes in a round of NTK-DFL from the Jacobians of its neighbours (Thompson et al.
// 2024, arXiv 2410.01922; code: Gabe-Thomp/ntk-dfl). With N samples, C outputs, P parameters:
//
//     H = (1 / C) sum_c J_c J_c';   f' = -(1 / N) H r(f),   r = softmax f - Y, or f - Y
//
// One kernel H serves all outputs. All sums are in float64, in a fixed order.

#include <cstdint>
#include <vector>

#include "algorithms/linearisation.hpp"

namespace dbench::algorithms {

/// The kernel and the flow of one replica's round. Runs on the host, in the caller's thread.
class KernelFlow {
public:
    /// Joins the samples of all parts in their order. All parts must have the same type, C and P;
    /// their memory must remain valid. `classes`: cross-entropy of the softmax, else half the
    /// squared difference.
    KernelFlow(std::vector<Linearised> parts, bool classes);

    int64_t samples() const { return samples_; }                   ///< N
    const std::vector<double>& kernel() const { return kernel_; }  ///< H [N, N]
    const std::vector<double>& start() const { return start_; }    ///< f of the parts [N, C]

    /// Returns r(f) [N, C].
    std::vector<double> residual(const std::vector<double>& f) const;
    /// Returns f after the time `time`: one classical Runge-Kutta step.
    std::vector<double> after(const std::vector<double>& f, double time) const;
    /// Returns (1 / N) sum_c J_c' r_c [P]. At the residual of `start` this is the gradient of the
    /// mean loss.
    std::vector<double> gradient(const std::vector<double>& r) const;

private:
    std::vector<double> velocity(const std::vector<double>& f) const;  ///< f'

    std::vector<Linearised> parts_;
    bool classes_;
    int64_t outputs_, parameters_, samples_ = 0;
    std::vector<double> start_, targets_, kernel_;
    std::vector<double> rates_;  // -H / N
};

}  // namespace dbench::algorithms
