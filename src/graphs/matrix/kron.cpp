#include "graphs/matrix/kron.hpp"

namespace dbench::graphs {
namespace {

class Kronecker final : public Matrix {
public:
    Kronecker(MatrixPtr outer, MatrixPtr inner)
        : outer_(std::move(outer)), inner_(std::move(inner)), places_(inner_->size()) {}

    int size() const override { return outer_->size() * places_; }
    std::vector<Link> in(int i) const override {
        return product(outer_->in(i / places_), inner_->in(i % places_), i);
    }
    std::vector<Link> out(int i) const override {
        return product(outer_->out(i / places_), inner_->out(i % places_), i);
    }
    bool transitive() const override { return outer_->transitive() && inner_->transitive(); }
    std::optional<Spectrum> spectrum() const override {
        const auto outer = outer_->spectrum();
        const auto inner = inner_->spectrum();
        if (!outer || !inner) return std::nullopt;
        Spectrum spectrum{Spectrum::Basis::own, {}};
        for (const auto a : outer->values) {
            for (const auto b : inner->values) spectrum.values.push_back(a + b - a * b);
        }
        return spectrum;
    }

private:
    std::vector<Link> product(const std::vector<Link>& outer, const std::vector<Link>& inner,
                              int self) const {
        std::vector<Link> links;
        links.reserve(outer.size() * inner.size());
        for (const Link& o : outer) {
            for (const Link& q : inner) {
                const Link link{o.peer * places_ + q.peer, o.weight * q.weight};
                if (link.weight != 0 || link.peer == self) links.push_back(link);
            }
        }
        return links;
    }

    MatrixPtr outer_;
    MatrixPtr inner_;
    int places_;
};

}  // namespace

MatrixPtr kronecker(MatrixPtr outer, MatrixPtr inner) {
    return std::make_shared<Kronecker>(std::move(outer), std::move(inner));
}

}  // namespace dbench::graphs
