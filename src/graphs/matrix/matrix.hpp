#pragma once
// One mixing matrix W (n x n): its rows and columns on request, and its properties known in closed
// form. MatrixPtr shares it among schedules and certificates; all functions are thread-safe.

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
    /// Row i (the replicas that i uses) and column i (the replicas that use i): sorted by peer,
    /// including i.
    virtual std::vector<Link> in(int i) const = 0;
    virtual std::vector<Link> out(int i) const = 0;
    /// Eigenvalues of I - W, if W is normal and they are known in closed form.
    virtual std::optional<Spectrum> spectrum() const { return std::nullopt; }
    /// True if every row is a relabelling of row 0, so that row and column 0 determine all sums.
    virtual bool transitive() const { return false; }

    /// Eigenvalues of a symmetric W, ascending, by a dense solver in O(n^3). Computed once and
    /// cached.
    const std::vector<double>& eigenvalues() const;

    /// The groups of Schedule::groups. Computed once and cached.
    const std::vector<std::vector<int>>& groups() const;

protected:
    virtual std::vector<std::vector<int>> find_groups() const;

private:
    mutable std::once_flag once_, spectrum_once_;
    mutable std::vector<double> eigenvalues_;
    mutable std::vector<std::vector<int>> groups_;
};

using MatrixPtr = std::shared_ptr<const Matrix>;

/// A nonzero of an explicit matrix: W[to][from] = weight.
struct MatrixEntry {
    int to;
    int from;
    double weight;
};

/// Builds a matrix from its entries: duplicate entries are added up, zeros off the diagonal are
/// dropped. O(entries) memory.
MatrixPtr explicit_matrix(int n, std::vector<MatrixEntry> entries);

/// Returns W' = (1 - theta) I + theta W; theta = 1 returns W itself.
MatrixPtr lazy_matrix(MatrixPtr matrix, double theta);

}  // namespace dbench::graphs
