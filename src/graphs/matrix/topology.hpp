#pragma once
// Who sends to whom, before any weights: the edges of a graph on replicas 0..n-1.

#include <complex>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace dbench::graphs {

/// Eigenvalues known in closed form, those of the Laplacian L = D - A or of I - W (so that a tiny
/// gap keeps its digits). The first is 0, of the all-one vector. Values of the same basis belong to
/// the same eigenvectors in the same order: their matrices commute.
struct Spectrum {
    enum class Basis { fourier, walsh, own };
    Basis basis;
    std::vector<std::complex<double>> values;  ///< n of them
};

class Topology {
public:
    virtual ~Topology() = default;

    virtual int size() const = 0;  ///< n
    /// Whom i sends to and hears from: sorted, i itself left out.
    virtual std::vector<int> to(int i) const = 0;
    virtual std::vector<int> from(int i) const = 0;
    virtual bool directed() const = 0;
    virtual int degree(int i) const { return static_cast<int>(to(i).size()); }  ///< out-degree
    virtual int in_degree(int i) const { return static_cast<int>(from(i).size()); }

    /// The degree that every replica has, in and out; empty where they differ.
    virtual std::optional<int> regular() const = 0;
    /// max(d_i, d_j) where it is the same for every edge: all Metropolis weights are equal then.
    virtual std::optional<int> metropolis_degree() const { return regular(); }
    /// Spectrum of the Laplacian, where closed.
    virtual std::optional<Spectrum> laplacian() const { return std::nullopt; }
    /// Whether every replica's view is a relabelling of replica 0's.
    virtual bool transitive() const { return false; }
};

using TopologyPtr = std::shared_ptr<const Topology>;
using Edge = std::pair<int, int>;  ///< from, to

/// i sends to i + offset (mod n) for each offset; offsets are reduced mod n, 0 is dropped.
TopologyPtr circulant(int n, const std::vector<int64_t>& offsets);

/// Edges given one by one; duplicates and loops are dropped, and an undirected graph takes both
/// directions of each. Indices must be in 0..n-1.
TopologyPtr from_edges(int n, const std::vector<Edge>& edges, bool directed);

/// Whether an undirected graph is connected, by union-find.
bool connects(int n, const std::vector<Edge>& edges);

}  // namespace dbench::graphs
