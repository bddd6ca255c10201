// Completes the last term of a query.
#include "viewer/views/tensors_completer.h"

#include <QAbstractItemView>
#include <QCompleter>
#include <QLineEdit>
#include <QStringListModel>

#include "analysis/categories/categories.h"
#include "analysis/filter/tensor_query.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

qsizetype BeginOfLastTerm(const QString& text) { return text.lastIndexOf(QLatin1Char(' ')) + 1; }

}  // namespace

QStringList CompletionsOf(const QString& text) {
  QString term = text.mid(BeginOfLastTerm(text));
  const QString minus = term.startsWith(QLatin1Char('-')) ? QStringLiteral("-") : QString();
  term = term.mid(minus.size());
  if (term.isEmpty()) return {};
  QStringList all;
  for (std::size_t i = 0; i < analysis::kTensorFieldCount; ++i) {
    const auto field = static_cast<analysis::TensorField>(i);
    const QString name = ToQString(analysis::TensorFieldName(field));
    const QStringList endings =
        analysis::IsTextField(field)
            ? QStringList{QStringLiteral(":"), QStringLiteral("=")}
            : QStringList{QStringLiteral(":"), QStringLiteral(">"), QStringLiteral("<")};
    for (const QString& ending : endings) all << name + ending;
  }
  all << QStringLiteral("alive") << QStringLiteral("freed");
  for (std::size_t i = 0; i < analysis::kCategoryCount; ++i)
    all << QStringLiteral("category:") +
               ToQString(analysis::CategoryKey(static_cast<analysis::Category>(i)));
  all.removeDuplicates();
  QStringList fitting;
  for (const QString& whole : all)
    if (whole.startsWith(term, Qt::CaseInsensitive) && whole.size() > term.size())
      fitting << minus + whole;
  // The values of a field are only offered once its name is complete.
  if (!term.contains(QLatin1Char(':')))
    fitting.removeIf([](const QString& whole) {
      const qsizetype colon = whole.indexOf(QLatin1Char(':'));
      return colon >= 0 && colon + 1 < whole.size();
    });
  return fitting;
}

TensorsCompleter::TensorsCompleter(QLineEdit* line) : QObject(line), line_(line) {
  terms_ = new QStringListModel(this);
  completer_ = new QCompleter(terms_, this);
  completer_->setWidget(line);
  completer_->setCompletionMode(QCompleter::UnfilteredPopupCompletion);
  completer_->setMaxVisibleItems(12);
  connect(line, &QLineEdit::textEdited, this, &TensorsCompleter::Offer);
  connect(completer_, qOverload<const QString&>(&QCompleter::activated), this,
          &TensorsCompleter::Take);
}

void TensorsCompleter::Offer() {
  const bool at_end = line_->cursorPosition() == line_->text().size();
  const QStringList terms = at_end ? CompletionsOf(line_->text()) : QStringList();
  if (terms.isEmpty()) {
    completer_->popup()->hide();
    return;
  }
  terms_->setStringList(terms);
  completer_->setCompletionPrefix({});
  completer_->complete();
}

void TensorsCompleter::Take(const QString& term) {
  const QString text = line_->text();
  line_->setText(text.left(BeginOfLastTerm(text)) + term);
}

}  // namespace memprof::viewer
