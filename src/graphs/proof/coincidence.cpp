#include "graphs/proof/coincidence.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "graphs/proof/measures.hpp"

namespace dbench::graphs {
namespace {

constexpr int kMostReplicas = 2048;
constexpr int64_t kMostSteps = 1 << 18;  // most replicas that the search places
constexpr double kSameWeight = 1e-12;
constexpr double kSameModulus = 1e-9;
constexpr const char* kNamed[] = {"ring",        "one_way_ring", "path",      "torus", "grid",
                                  "exponential", "ring_lattice", "hypercube", "star",  "complete"};

// All rows and columns of one matrix.
struct Rows {
    std::vector<std::vector<Link>> in, out;

    explicit Rows(const Schedule& schedule) {
        const Round round = schedule.at(0);
        for (int i = 0; i < schedule.size(); ++i) {
            in.push_back(schedule.in(round, i));
            out.push_back(schedule.out(round, i));
        }
    }
    int size() const { return static_cast<int>(in.size()); }
    size_t links() const {
        size_t all = 0;
        for (const auto& row : in) all += row.size();
        return all;
    }
};

// Returns the weight of `peer` in a sorted row, 0 without a link.
double weight_of(const std::vector<Link>& row, int peer) {
    const auto at = std::lower_bound(row.begin(), row.end(), peer,
                                     [](const Link& link, int p) { return link.peer < p; });
    return at != row.end() && at->peer == peer ? at->weight : 0.0;
}

// Searches for the numbering: replicas of `a` are placed one after another, each next to one that
// is placed already, on replicas of `b` that have the same links to all that are placed.
class Numbering {
public:
    Numbering(const Rows& a, const Rows& b)
        : a_(a), b_(b), image_(a.size(), -1), taken_(a.size(), false) {
        order_.push_back(0);
        parent_.assign(a.size(), -1);
        std::vector<bool> seen(a.size(), false);
        seen[0] = true;
        for (size_t k = 0; k < order_.size(); ++k) {
            for (const auto* links : {&a.in[order_[k]], &a.out[order_[k]]}) {
                for (const Link& link : *links) {
                    if (seen[link.peer]) continue;
                    seen[link.peer] = true;
                    parent_[link.peer] = order_[k];
                    order_.push_back(link.peer);
                }
            }
        }
    }

    bool found() {
        if (static_cast<int>(order_.size()) < a_.size()) return false;  // not connected
        std::vector<std::vector<int>> open = {candidates(0)};
        while (!open.empty()) {
            const size_t k = open.size() - 1;
            if (image_[order_[k]] >= 0) taken_[image_[order_[k]]] = false;
            image_[order_[k]] = -1;
            if (open.back().empty()) {
                open.pop_back();
                continue;
            }
            const int chosen = open.back().back();
            open.back().pop_back();
            if (++steps_ > kMostSteps) return false;
            if (!fits(order_[k], chosen)) continue;
            image_[order_[k]] = chosen;
            taken_[chosen] = true;
            if (k + 1 == order_.size()) return true;
            open.push_back(candidates(k + 1));
        }
        return false;
    }

private:
    std::vector<int> candidates(size_t k) const {
        std::vector<int> all;
        if (k == 0) {
            for (int i = a_.size() - 1; i >= 0; --i) all.push_back(i);
            return all;
        }
        const int near = image_[parent_[order_[k]]];
        for (const auto* links : {&b_.in[near], &b_.out[near]}) {
            for (const Link& link : *links) {
                if (!taken_[link.peer]) all.push_back(link.peer);
            }
        }
        return all;
    }

    // True if `image` has the links to placed replicas that `i` has.
    bool fits(int i, int image) const {
        if (taken_[image] || a_.in[i].size() != b_.in[image].size() ||
            a_.out[i].size() != b_.out[image].size()) {
            return false;
        }
        return alike(a_.in[i], i, b_.in[image], image) && alike(a_.out[i], i, b_.out[image], image);
    }

    bool alike(const std::vector<Link>& of_a, int i, const std::vector<Link>& of_b,
               int image) const {
        size_t placed = 0, there = 0;
        for (const Link& link : of_a) {
            const int peer = link.peer == i ? image : image_[link.peer];
            if (peer < 0) continue;
            ++placed;
            if (std::abs(weight_of(of_b, peer) - link.weight) > kSameWeight) return false;
        }
        for (const Link& link : of_b) there += link.peer == image || taken_[link.peer];
        return placed == there;
    }

    const Rows &a_, &b_;
    std::vector<int> order_, parent_, image_;
    std::vector<bool> taken_;
    int64_t steps_ = 0;
};

// Returns the moduli of the eigenvalues, sorted; empty if they are not known.
std::vector<double> moduli(const Schedule& schedule) {
    const auto matrix = schedule.matrix(schedule.at(0));
    const auto gaps = matrix ? gaps_of_modes(matrix) : std::nullopt;
    std::vector<double> all;
    if (!gaps) return all;
    for (const auto& gap : *gaps) all.push_back(std::abs(1.0 - gap));
    std::sort(all.begin(), all.end());
    return all;
}

bool close(const std::vector<double>& a, const std::vector<double>& b) {
    return !a.empty() && std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
        return std::abs(x - y) <= kSameModulus;
    });
}

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (size_t k = 0; k < names.size(); ++k) {
        text += (k == 0 ? "" : k + 1 == names.size() ? " and " : ", ") + names[k];
    }
    return text;
}

}  // namespace

bool same_up_to_numbering(const Schedule& a, const Schedule& b) {
    if (a.size() != b.size()) return false;
    const Rows rows_a(a), rows_b(b);
    return rows_a.links() == rows_b.links() && Numbering(rows_a, rows_b).found();
}

std::vector<Coincidence> coincidences(const Schedule& schedule, const base::Json& spec) {
    std::vector<Coincidence> found;
    const int n = schedule.size();
    if (!spec.is_object() || schedule.period() != 1 || n < 2 || n > kMostReplicas) return found;
    const auto own = spec.at("type").get<std::string>();
    std::vector<double> own_moduli;
    for (const char* name : kNamed) {
        if (own == name) continue;
        base::Json other{{"type", name}};
        for (const char* key : {"weights", "lazy"}) {
            if (spec.contains(key)) other[key] = spec.at(key);
        }
        try {
            const auto named = make_graph(other, {n, 0});
            const Round round = named->at(0);
            if (named->out(round, 0).size() != schedule.out(schedule.at(0), 0).size()) continue;
            if (same_up_to_numbering(schedule, *named)) {
                found.push_back({name, true});
                continue;
            }
            if (own_moduli.empty()) own_moduli = moduli(schedule);
            if (close(own_moduli, moduli(*named))) found.push_back({name, false});
        } catch (const base::UserError&) {  // the named graph does not exist at this n
        }
    }
    return found;
}

std::string coincidence_text(const std::string& type, int n,
                             const std::vector<Coincidence>& found) {
    std::vector<std::string> same, alike;
    for (const Coincidence& one : found) (one.same ? same : alike).push_back(one.name);
    const std::string with = "with " + std::to_string(n) + " replicas " + type;
    std::string text;
    if (!same.empty()) {
        text = with + " is the same graph as " + listed(same) +
               " except for the numbers of the replicas (runs over them differ by chance only)";
    }
    if (!alike.empty()) {
        text += (text.empty() ? with : std::string(", and")) + " averages exactly as much as " +
                listed(alike) + " (as many neighbours, eigenvalues of the same size)";
    }
    return text.empty() ? text : text + ": choose another number of replicas to compare them";
}

}  // namespace dbench::graphs
