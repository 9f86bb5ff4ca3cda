#pragma once
// The edges of a graph on replicas 0..n-1, without weights.

#include <complex>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace dbench::graphs {

/// Eigenvalues known in closed form, either of the Laplacian L = D - A or of I - W; differences
/// from 1 keep the digits of a tiny gap. The first value is 0, of the all-ones vector. Spectra with
/// the same basis list the values of the same eigenvectors in the same order, so their matrices
/// commute.
struct Spectrum {
    enum class Basis { fourier, walsh, own };
    /// fourier: exp(2 pi i jk/n); walsh: +-1 vectors of the hypercube; own: unknown eigenvectors.
    Basis basis;
    std::vector<std::complex<double>> values;  ///< n values.
};

class Topology {
public:
    virtual ~Topology() = default;

    virtual int size() const = 0;  ///< n
    /// The replicas that i sends to and receives from: sorted, without i itself.
    virtual std::vector<int> to(int i) const = 0;
    virtual std::vector<int> from(int i) const = 0;
    virtual bool directed() const = 0;
    virtual int degree(int i) const { return static_cast<int>(to(i).size()); }  ///< Out-degree.
    virtual int in_degree(int i) const { return static_cast<int>(from(i).size()); }

    /// The common in- and out-degree of all replicas; empty if the degrees differ.
    virtual std::optional<int> regular() const = 0;
    /// max(d_i, d_j) if it is equal for every edge, so that all Metropolis weights are equal.
    virtual std::optional<int> metropolis_degree() const { return regular(); }
    /// The spectrum of the Laplacian, if known in closed form.
    virtual std::optional<Spectrum> laplacian() const { return std::nullopt; }
    /// True if the graph looks the same from every replica, up to relabelling.
    virtual bool transitive() const { return false; }
};

using TopologyPtr = std::shared_ptr<const Topology>;
using Edge = std::pair<int, int>;  ///< A link as (from, to).

/// Builds the graph in which i sends to i + offset (mod n) for each offset. Offsets are reduced mod
/// n; 0 is dropped.
TopologyPtr circulant(int n, const std::vector<int64_t>& offsets);

/// Builds a graph from its edges. Duplicates and loops are dropped; an undirected graph has both
/// directions of each edge. Indices must be in 0..n-1.
TopologyPtr from_edges(int n, const std::vector<Edge>& edges, bool directed);

/// Returns true if an undirected graph is connected, by union-find.
bool is_connected(int n, const std::vector<Edge>& edges);

}  // namespace dbench::graphs
