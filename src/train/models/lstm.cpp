#include <optional>

#include "train/models/entry_helpers.hpp"
#include "train/models/layers/layers.hpp"
#include "train/models/layers/text_layers.hpp"

namespace dbench::train {
namespace {

/// Predicts words with an LSTM (Zaremba et al. 2014, arXiv 1409.2329; tied: Press and Wolf 2016,
/// arXiv 1608.05859): an embedding, LSTM layers of the same width, a linear layer, and dropout
/// between all of them. With 33,278 words and 2 layers of width 650 it has 50,065,078 parameters,
/// tied 28,434,378.
class LstmModel : public Model {
public:
    struct Options {
        int64_t hidden, layers;
        bool tied;  ///< The last linear layer shares the embedding's weight.
        double dropout;

        static const base::Section<Options>& section();
    };

    LstmModel(const Options& o, const ModelContext& context)
        : dropout_(declaration_, o.dropout),
          encoder_(declaration_, "encoder", context.classes, o.hidden, uniform(0.1), o.tied),
          rnn_(declaration_, "rnn",
               {o.hidden, o.hidden, o.layers, o.dropout, context.stream_batch}) {
        if (o.tied) {
            bias_ = declaration_.parameter(
                {"decoder.bias", {context.classes}, arena::TensorKind::bias, constant(0)});
        } else {
            decoder_.emplace(declaration_, "decoder", o.hidden, context.classes,
                             Linear::Initials{uniform(0.1), constant(0)});
        }
    }

    torch::Tensor forward(const Weights& w, const torch::Tensor& tokens,
                          bool training) const override {
        torch::Tensor x = dropout_(encoder_(w, tokens), training);  // (B, T, hidden)
        x = dropout_(rnn_(w, x, training), training).flatten(0, 1);
        return decoder_ ? (*decoder_)(w, x)  // (B T, words)
                        : torch::linear(x, encoder_.weight(w), w.parameters[bias_]);
    }

private:
    Dropout dropout_;
    Embedding encoder_;
    Lstm rnn_;
    std::optional<Linear> decoder_;
    int bias_ = -1;  ///< The bias of a tied decoder, which shares the encoder's weight.
};

const base::Section<LstmModel::Options>& LstmModel::Options::section() {
    using base::Parameter;
    static const base::Section<Options> keys{
        {Parameter::integer("hidden", "650", "width of the embedding and of each layer")
             .at_least(1)
             .at_most(1 << 16),
         &Options::hidden},
        {Parameter::integer("layers", "2", "layers").at_least(1).at_most(64), &Options::layers},
        {Parameter::flag("tied", "false", "the last linear layer shares the embedding's weight"),
         &Options::tied},
        {dropout_parameter("0.5"), &Options::dropout},
    };
    return keys;
}

ModelPtr make_lstm(const LstmModel::Options& options, const ModelContext& context) {
    require_tokens("lstm", context);
    return std::make_unique<LstmModel>(options, context);
}

}  // namespace

ModelEntry lstm_model() {
    return {"lstm",
            "LSTM for texts; with the partition stream its state is carried from batch to batch",
            make_lstm};
}

}  // namespace dbench::train
