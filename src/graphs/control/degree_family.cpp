#include "graphs/control/degree_family.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace dbench::graphs {

DegreeFamily::DegreeFamily(const std::string& name, const GraphContext& context,
                           const std::string& pointer)
    : name_(name), context_(context), pointer_(pointer) {
    const int64_t n = context.n;
    if (name == "ring_lattice") {
        step_ = least_ = 2;
        most_ = std::max<int64_t>(2, n / 2 * 2);  // ring_lattice is complete from k = n - 1 on
    } else if (name == "exponential") {
        most_ = std::max(1, ceil_log2(n));
    } else if (name == "random_regular") {
        least_ = std::clamp<int64_t>(n - 1, 1, 3);
        if (n % 2 != 0) step_ = 2, least_ = std::clamp<int64_t>(n - 1, 2, 4);
        most_ = std::max(least_, n - 1);
    } else {
        most_ = std::max<int64_t>(1, n - 1);
    }
}

int64_t DegreeFamily::at_least(int64_t wanted) const {
    if (wanted <= least_) return least_;
    const int64_t k = least_ + (wanted - least_ + step_ - 1) / step_ * step_;
    return std::min(k, most_);
}

std::vector<int64_t> DegreeFamily::between(int64_t low, int64_t high) const {
    std::vector<int64_t> all;
    for (int64_t k = at_least(low); k <= at_least(high); k += step_) all.push_back(k);
    return all;
}

std::unique_ptr<Schedule> DegreeFamily::make(int64_t k) const {
    if (name_ == "exponential") {
        std::vector<int64_t> offsets;
        for (int64_t o = 1; static_cast<int64_t>(offsets.size()) < k; o *= 2) offsets.push_back(o);
        return static_schedule(uniform_weights(circulant(context_.n, offsets)));
    }
    const char* key = name_ == "random_regular" ? "degree" : "k";
    return make_graph({{"type", name_}, {key, k}}, context_, pointer_);
}

std::string DegreeFamily::title(int64_t k) const { return name_ + " k=" + std::to_string(k); }

base::Parameter family_parameter() {
    return base::Parameter::choice("family", "\"ring_lattice\"",
                                   {"ring_lattice", "exponential", "random_regular", "base_k"},
                                   "what k is the degree of");
}

}  // namespace dbench::graphs
