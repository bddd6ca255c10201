// How far the log can be trusted.
#include "viewer/views/quality_view.h"

#include <QHeaderView>
#include <QLabel>
#include <QStyledItemDelegate>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/views/copy_rows.h"
#include "viewer/views/csv.h"
#include "viewer/views/page.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

QColor GradeColor(const Theme& theme, Grade grade) {
  switch (grade) {
    case Grade::kGood:
      return theme.good;
    case Grade::kInfo:
      return theme.accent;
    case Grade::kNotice:
      return theme.warning;
    case Grade::kDataLoss:
    case Grade::kError:
      break;
  }
  return theme.danger;
}

// Verdicts in their colours, what to do in a quieter one.
class GradeDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const Theme theme = Theme::From(option->palette);
    if (index.column() == QualityModel::kAdvice)
      option->palette.setColor(QPalette::Text, theme.muted);
    if (index.column() != QualityModel::kGrade) return;
    const auto grade = static_cast<Grade>(index.data(QualityModel::kGradeRole).toInt());
    option->palette.setColor(QPalette::Text, GradeColor(theme, grade));
    option->font = StrongFont(option->font);
  }
  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return QStyledItemDelegate::sizeHint(option, index) + QSize(0, kSpace);
  }
};

}  // namespace

QualityView::QualityView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  QVBoxLayout* column = PageColumn(this);
  verdict_ = new QLabel(this);
  verdict_->setWordWrap(true);
  verdict_->setFont(StrongFont(font()));
  column->addWidget(verdict_);
  model_ = new QualityModel(this);
  table_ = new QTableView(this);
  table_->setModel(model_);
  SetUpTable(table_, tr("Data quality"));
  table_->setItemDelegate(new GradeDelegate(table_));
  table_->setTextElideMode(Qt::ElideRight);
  table_->setWordWrap(true);
  table_->setAlternatingRowColors(true);
  table_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  table_->verticalHeader()->setMinimumSectionSize(1);
  table_->horizontalHeader()->setHighlightSections(false);
  AddCopyActions(table_, {.role = QualityModel::kPlainRole});
  column->addWidget(table_, 1);
  const auto again = [this] { Invalidate(); };
  connect(document, &Document::StateChanged, this, again);
  connect(document, &Document::ReportReady, this, again);
}

QString QualityView::VerdictText() const { return verdict_->text(); }

void QualityView::Refresh() {
  if (document_->session() == nullptr) {
    model_->SetRows({});
    verdict_->clear();
    return;
  }
  std::vector<QualityRow> rows = FindQuality(*document_->session(), document_->report().get());
  const QualityVerdict verdict = JudgeQuality(rows);
  model_->SetRows(std::move(rows));
  QPalette palette = this->palette();
  const Grade shown =
      std::max(verdict.worst == Grade::kInfo ? Grade::kGood : verdict.worst, Grade::kGood);
  const QColor color = GradeColor(Theme::From(palette), shown);
  palette.setColor(QPalette::WindowText, color);
  palette.setColor(QPalette::Text, color);
  verdict_->setPalette(palette);
  verdict_->setText(verdict.text);
  Fit();
}

void QualityView::Fit() {
  const int letter = fontMetrics().averageCharWidth();
  const int width = table_->viewport()->width();
  table_->setColumnWidth(QualityModel::kArea, 20 * letter);
  table_->setColumnWidth(QualityModel::kSubject, 22 * letter);
  table_->setColumnWidth(QualityModel::kGrade, 13 * letter);
  const int rest = std::max(60 * letter, width - 55 * letter);
  table_->setColumnWidth(QualityModel::kFinding, rest * 9 / 20);
  table_->setColumnWidth(QualityModel::kAdvice, rest - rest * 9 / 20);
  table_->resizeRowsToContents();
}

void QualityView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  layout()->activate();
  Fit();
}

bool QualityView::WriteCsv(QTextStream* out) const {
  return WriteCsvRows(out, *model_, QualityModel::kPlainRole);
}

}  // namespace memprof::viewer
