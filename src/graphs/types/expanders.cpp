// Expander graphs with explicit edges. Weights count how often an edge occurs, loops included, so
// that rows and columns sum to 1 by construction: W = A / 8 (margulis) and W = A / 3
// (chordal_cycle).
//
//     margulis        n = m^2: (x, y) with (x +- 2y, y), (x +- (2y+1), y), (x, y +- 2x),
//                     (x, y +- (2x+1)) mod m (Margulis 1973; Gabber and Galil 1981)
//     chordal_cycle   n prime: x with x - 1, x + 1 and its inverse mod n, 0 with itself
//                     (Lubotzky 1994)

#include "graphs/types/families.hpp"

namespace dbench::graphs {
namespace {

int wrap(int64_t value, int m) { return static_cast<int>(((value % m) + m) % m); }

int root(int64_t n) {
    int m = static_cast<int>(std::sqrt(static_cast<double>(n)));
    while (static_cast<int64_t>(m) * m > n) --m;
    while (static_cast<int64_t>(m + 1) * (m + 1) <= n) ++m;
    return m;
}

// Margulis, Gabber and Galil (1981): (x, y) of Z_m x Z_m, eight edges each.
std::unique_ptr<Schedule> make_margulis(const LazySpec& spec, const GraphContext& context,
                                        const std::string& pointer) {
    const auto square = [](int64_t n) { return static_cast<int64_t>(root(n)) * root(n) == n; };
    if (!square(context.n)) {
        refuse_size("margulis", "n must be a square", context.n, square, pointer);
    }
    const int m = root(context.n);
    std::vector<MatrixEntry> entries;
    for (int x = 0; x < m; ++x) {
        for (int y = 0; y < m; ++y) {
            for (const int64_t step : {2 * y, -2 * y, 2 * y + 1, -(2 * y + 1)}) {
                entries.push_back({x * m + y, wrap(x + step, m) * m + y, 1.0 / 8});
            }
            for (const int64_t step : {2 * x, -2 * x, 2 * x + 1, -(2 * x + 1)}) {
                entries.push_back({x * m + y, x * m + wrap(y + step, m), 1.0 / 8});
            }
        }
    }
    return static_schedule(apply_lazy(explicit_matrix(context.n, std::move(entries)), spec));
}

bool prime(int64_t p) {
    for (int64_t d = 2; d * d <= p; ++d) {
        if (p % d == 0) return false;
    }
    return p >= 2;
}

int64_t power_mod(int64_t base, int64_t exponent, int64_t p) {
    int64_t out = 1;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2 == 1) out = out * base % p;
        base = base * base % p;
    }
    return out;
}

// x of Z_p with x - 1, x + 1 and its inverse (0 with itself); Lubotzky (1994).
std::unique_ptr<Schedule> make_chordal(const LazySpec& spec, const GraphContext& context,
                                       const std::string& pointer) {
    const int p = context.n;
    if (p == 1) return static_schedule(constant_weights(complete_topology(1), 1.0));
    if (!prime(p)) refuse_size("chordal_cycle", "n must be prime", p, prime, pointer);
    std::vector<MatrixEntry> entries;
    for (int x = 0; x < p; ++x) {
        const auto inverse = static_cast<int>(x == 0 ? 0 : power_mod(x, p - 2, p));
        for (const int y : {wrap(x + 1, p), wrap(x - 1, p), inverse}) {
            entries.push_back({x, y, 1.0 / 3});
        }
    }
    return static_schedule(apply_lazy(explicit_matrix(p, std::move(entries)), spec));
}

}  // namespace

GraphEntry margulis_entry() {
    return {"margulis", "Margulis-Gabber-Galil expander, 8 edges each; n a square", make_margulis};
}

GraphEntry chordal_cycle_entry() {
    return {"chordal_cycle", "cycle with chords to the inverse modulo n; n prime", make_chordal};
}

}  // namespace dbench::graphs
