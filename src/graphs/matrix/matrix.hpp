#pragma once
// One mixing matrix W (n x n): rows and columns on demand, and what is known of it in closed form.

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "graphs/matrix/topology.hpp"
#include "graphs/schedule.hpp"

namespace dbench::graphs {

class Matrix {
public:
    virtual ~Matrix() = default;

    virtual int size() const = 0;  ///< n
    /// Row i (whose parameters i uses) and column i (who uses i's): sorted by peer, i included.
    virtual std::vector<Link> in(int i) const = 0;
    virtual std::vector<Link> out(int i) const = 0;
    /// Eigenvalues of I - W, where W is normal and they are known in closed form.
    virtual std::optional<Spectrum> spectrum() const { return std::nullopt; }
    /// Whether every row is a relabelling of row 0, so that row and column 0 tell all sums.
    virtual bool transitive() const { return false; }

    /// Eigenvalues of a symmetric W, ascending, by a dense solver; found once and kept. O(n^3).
    const std::vector<double>& eigenvalues() const;

    /// As Schedule::groups; found once and kept.
    const std::vector<std::vector<int>>& groups() const;

protected:
    virtual std::vector<std::vector<int>> find_groups() const;

private:
    mutable std::once_flag once_, spectrum_once_;
    mutable std::vector<double> eigenvalues_;
    mutable std::vector<std::vector<int>> groups_;
};

using MatrixPtr = std::shared_ptr<const Matrix>;

/// An entry of an explicit matrix: W[to][from] = weight.
struct Entry3 {
    int to;
    int from;
    double weight;
};

/// A matrix given entry by entry: double ones are added up, zeros off the diagonal dropped.
/// O(entries) memory.
MatrixPtr explicit_matrix(int n, std::vector<Entry3> entries);

/// W' = (1 - theta) I + theta W; theta = 1 gives W itself.
MatrixPtr lazy_matrix(MatrixPtr matrix, double theta);

}  // namespace dbench::graphs
